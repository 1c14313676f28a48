package manifests

import "github.com/toskose/toskose/operator/levels"

// rule is a rule of a ClusterRole.
type rule struct {
	Groups    []string `yaml:"apiGroups,flow"`
	Resources []string `yaml:"resources,flow"`
	Verbs     []string `yaml:"verbs,flow"`
}

var (
	reading = []string{"get", "list", "watch"}
	writing = []string{"get", "list", "watch", "create", "update", "patch", "delete"}
)

// rulesOf returns the permissions of a controller: it reads its own kind and writes its status, writes the next lower kind, and
// reads the kind above.
func rulesOf(place levels.Place) []rule {
	own := place.Own
	rules := []rule{
		{[]string{own.Group}, []string{own.Plural}, reading},
		{[]string{own.Group}, []string{own.Plural + "/status"}, []string{"get", "update", "patch"}},
		{[]string{own.Group}, []string{own.Plural + "/finalizers"}, []string{"update"}}, // to be the owner of the lower kind
		{[]string{"", "events.k8s.io"}, []string{"events"}, []string{"create", "patch"}},
	}
	if place.Lower != nil {
		rules = append(rules, rule{[]string{place.Lower.Group}, []string{place.Lower.Plural}, writing})
	}
	if place.Upper != nil {
		rules = append(rules, rule{[]string{place.Upper.Group}, []string{place.Upper.Plural}, reading})
	}
	switch {
	case own == levels.Component:
		rules = append(rules,
			rule{[]string{"apps"}, []string{"deployments", "statefulsets"}, writing},
			rule{[]string{"batch"}, []string{"jobs"}, writing},
			rule{[]string{""}, []string{"configmaps"}, writing})
	case own == levels.Application: // its finalizer releases permanent components
		rules[0].Verbs = append(append([]string{}, reading...), "patch")
	case *place.Lower == levels.Application:
		rules = append(rules, rule{[]string{""}, []string{"namespaces"}, reading})
	}
	return rules
}

func clusterRole(place levels.Place) map[string]any {
	return map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
		"metadata": map[string]any{"name": nameOf(place.Own.Singular), "labels": labels("")},
		"rules":    rulesOf(place),
	}
}

// binding gives a controller's role to the service account that it runs with.
func binding(place levels.Place, account string) map[string]any {
	return map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
		"metadata": map[string]any{"name": nameOf(place.Own.Singular), "labels": labels("")},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": nameOf(place.Own.Singular)},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": account, "namespace": Namespace}},
	}
}
