package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// call makes an XML-RPC call and returns the text of the response. Arguments are strings and
// booleans.
func (p *process) call(method string, args ...any) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, `<?xml version="1.0"?><methodCall><methodName>%s</methodName><params>`, method)
	for _, arg := range args {
		switch arg := arg.(type) {
		case string:
			fmt.Fprintf(&b, "<param><value><string>%s</string></value></param>", arg)
		case bool:
			bit := map[bool]int{true: 1}[arg]
			fmt.Fprintf(&b, "<param><value><boolean>%d</boolean></value></param>", bit)
		}
	}
	b.WriteString("</params></methodCall>")
	response, err := p.client.Post("http://unit/RPC2", "text/xml", strings.NewReader(b.String())) //nolint:noctx // the client has a timeout
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK || strings.Contains(string(text), "<fault>") {
		return "", fmt.Errorf("%s: %s\n%s", method, response.Status, text)
	}
	return string(text), nil
}

// calls makes several calls, each a method and its arguments.
func (p *process) calls(list ...[]any) error {
	for _, c := range list {
		if _, err := p.call(c[0].(string), c[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// timed makes a call and returns its latency.
func (p *process) timed(method string, args ...any) (time.Duration, error) {
	begun := time.Now()
	_, err := p.call(method, args...)
	return time.Since(begun), err
}

// awaitState polls until a process is in a state.
func (p *process) awaitState(name, state string) error { return p.pollState(name, state, 0) }

// pollState is awaitState with a pause between calls, for measurements that the calls would
// distort.
func (p *process) pollState(name, state string, pause time.Duration) error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		answer, err := p.call("supervisor.getProcessInfo", name)
		if err != nil {
			return err
		}
		if strings.Contains(answer, "<string>"+state+"</string>") {
			return nil
		}
		time.Sleep(pause)
	}
	return fmt.Errorf("%s did not reach the state %s", name, state)
}
