package grammar

import "github.com/toskose/toskose/tosca/internal/source"

// inputsRead gathers the names that get_input is given anywhere in a file, also
// where nothing is evaluated. What aliases stand for is walked each time: the
// parser bounds how much that is.
func inputsRead(root *source.Node) map[string]bool {
	found := map[string]bool{}
	var walk func(n *source.Node)
	walk = func(n *source.Node) {
		if n.IsNull() || n.IsScalar() {
			return
		}
		for k, v := range n.Pairs() {
			if k.Text == "get_input" || k.Text == "$get_input" {
				readName(found, v)
			}
		}
		for _, item := range n.Items {
			walk(item)
		}
	}
	walk(root)
	return found
}

func readName(found map[string]bool, arg *source.Node) {
	if !arg.IsNull() && arg.Kind == source.List && len(arg.Items) > 0 {
		arg = arg.Items[0]
	}
	if !arg.IsNull() && arg.IsScalar() {
		found[arg.Text] = true
	}
}
