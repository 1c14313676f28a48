package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// etcdURL is the address of this machine's etcd.
const etcdURL = "http://127.0.0.1:2379"

func peerURL(ip string) string { return "http://" + ip + ":2380" }

// member is a member of etcd, as its JSON gateway has it.
type member struct {
	ID    string   `json:"ID"`
	Name  string   `json:"name"`
	Peers []string `json:"peerURLs"`
}

// etcd calls the JSON gateway of this machine's etcd.
func etcd(ctx context.Context, method string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, etcdURL+"/v3/cluster/member/"+method, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd: %s: %s", method, text)
	}
	return json.Unmarshal(text, answer)
}

func members(ctx context.Context) ([]member, error) {
	var list struct {
		Members []member `json:"members"`
	}
	err := etcd(ctx, "list", struct{}{}, &list)
	return list.Members, err
}

// addMember adds a machine to etcd in the place of an earlier one with its address, and returns its --initial-cluster.
func addMember(ctx context.Context, name, ip string) (string, error) {
	all, err := members(ctx)
	if err != nil {
		return "", err
	}
	for _, m := range all {
		if m.Peers[0] != peerURL(ip) {
			continue
		}
		if err := removeMember(ctx, m.ID); err != nil {
			return "", err
		}
	}
	var added struct {
		Member  member   `json:"member"`
		Members []member `json:"members"`
	}
	if err := etcd(ctx, "add", map[string]any{"peerURLs": []string{peerURL(ip)}}, &added); err != nil {
		return "", err
	}
	var cluster []string
	for _, m := range added.Members {
		if m.ID == added.Member.ID {
			m.Name = name
		}
		if m.Name != "" {
			cluster = append(cluster, m.Name+"="+m.Peers[0])
		}
	}
	return strings.Join(cluster, ","), nil
}

func removeMember(ctx context.Context, id string) error {
	return etcd(ctx, "remove", map[string]string{"ID": id}, &struct{}{})
}
