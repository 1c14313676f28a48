package observe

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// Volume is a volume of Longhorn.
type Volume struct {
	Name        string     `json:"name"`
	State       Word       `json:"state"`
	Robustness  Word       `json:"robustness"`
	Namespace   string     `json:"namespace,omitempty"` // of the claim
	Claim       string     `json:"claim,omitempty"`
	Application string     `json:"application,omitempty"`
	Since       *time.Time `json:"degraded_since,omitempty"`
}

// Word is a value that is both a word and a number.
type Word struct {
	Word   string `json:"word"`
	Number int    `json:"number"`
}

// The numbers of Longhorn's metrics. A word that is not here has the number -1.
var (
	states      = map[string]int{"creating": 1, "attached": 2, "detached": 3, "attaching": 4, "detaching": 5, "deleting": 6}
	robustness  = map[string]int{"unknown": 0, "healthy": 1, "degraded": 2, "faulted": 3}
	worstFirst  = []string{"faulted", "degraded", "unknown", "healthy"}
	unknownWord = "unknown"
)

func wordOf(word string, numbers map[string]int) Word {
	n, ok := numbers[word]
	if !ok {
		n = -1
	}
	return Word{word, n}
}

func numberOf(number int, numbers map[string]int) Word {
	for word, n := range numbers {
		if n == number {
			return Word{word, n}
		}
	}
	return Word{unknownWord, number}
}

// longhornVolume is the part of a volumes.longhorn.io that is used.
type longhornVolume struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Status struct {
		State        string      `json:"state"`
		Robustness   string      `json:"robustness"`
		DegradedAt   string      `json:"lastDegradedAt"`
		Conditions   []condition `json:"conditions"`
		KubernetesOf struct {
			Namespace string `json:"namespace"`
			Claim     string `json:"pvcName"`
		} `json:"kubernetesStatus"`
	} `json:"status"`
}

// claimObject is the part of a PersistentVolumeClaim that is used.
type claimObject struct {
	Metadata struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	} `json:"metadata"`
}

// Volumes returns Longhorn's volumes, the worst first, and of equally bad ones the longest first. installed is false if the cluster
// does not have the kind.
func (c Cluster) Volumes(ctx context.Context) (all []Volume, installed bool, err error) {
	on, err := c.Reach(ctx)
	if err != nil {
		return nil, false, err
	}
	kind, err := on.get(ctx, "customresourcedefinitions.apiextensions.k8s.io", "volumes.longhorn.io", "--ignore-not-found", "--output", "name")
	if err != nil || strings.TrimSpace(string(kind)) == "" {
		return []Volume{}, false, err
	}
	var volumes []longhornVolume
	if err := on.list(ctx, &volumes, "volumes.longhorn.io", "--all-namespaces"); err != nil {
		return nil, true, err
	}
	applications, err := on.claims(ctx)
	if err != nil {
		return nil, true, err
	}
	all = []Volume{}
	for _, v := range volumes {
		all = append(all, v.volume(applications))
	}
	sortVolumes(all)
	return all, true, nil
}

// claims returns the application of each claim, by NAMESPACE/NAME: by the labels of the claim, or of a pod that mounts it.
func (c Cluster) claims(ctx context.Context) (map[string]string, error) {
	var claims []claimObject
	var pods []podObject
	if err := c.list(ctx, &claims, "persistentvolumeclaims", "--all-namespaces"); err != nil {
		return nil, err
	}
	if err := c.list(ctx, &pods, "pods", "--all-namespaces"); err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, p := range pods {
		for _, v := range p.Spec.Volumes {
			if app := applicationOf(p.Metadata.Labels); app != "" && v.Claim.Name != "" {
				all[p.Metadata.Namespace+"/"+v.Claim.Name] = app
			}
		}
	}
	for _, o := range claims {
		if app := applicationOf(o.Metadata.Labels); app != "" {
			all[o.Metadata.Namespace+"/"+o.Metadata.Name] = app
		}
	}
	return all, nil
}

func (v longhornVolume) volume(applications map[string]string) Volume {
	of := v.Status.KubernetesOf
	made := Volume{
		Name: v.Metadata.Name, State: wordOf(cmp.Or(v.Status.State, unknownWord), states), Robustness: wordOf(cmp.Or(v.Status.Robustness, unknownWord), robustness),
		Namespace: of.Namespace, Claim: of.Claim, Application: applications[of.Namespace+"/"+of.Claim],
	}
	if made.Robustness.Number == robustness["degraded"] || made.Robustness.Number == robustness["faulted"] {
		made.Since = v.since()
	}
	return made
}

// since returns when the volume became degraded: as it says or, without that, when the condition that its replicas are scheduled became
// false, or else the last time that a condition did.
func (v longhornVolume) since() *time.Time {
	if at, err := time.Parse(time.RFC3339, v.Status.DegradedAt); err == nil && !at.IsZero() {
		return &at
	}
	var latest *time.Time
	for _, c := range v.Status.Conditions {
		if c.Status != "False" || c.Since.IsZero() {
			continue
		}
		if c.Type == "Scheduled" {
			return &c.Since
		}
		if latest == nil || c.Since.After(*latest) {
			latest = &c.Since
		}
	}
	return latest
}

func sortVolumes(all []Volume) {
	rank := func(v Volume) int {
		if i := slices.Index(worstFirst, v.Robustness.Word); i >= 0 {
			return i
		}
		return slices.Index(worstFirst, unknownWord)
	}
	slices.SortFunc(all, func(a, b Volume) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), compareSince(a.Since, b.Since), strings.Compare(a.Name, b.Name))
	})
}

// compareSince sorts the longest first, and unknown times last.
func compareSince(a, b *time.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return a.Compare(*b)
}
