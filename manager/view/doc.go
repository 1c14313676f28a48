// Package view is how an application is shown: its nodes, components and
// operations at one moment, of what the mirror knows and what the components
// require of each other, and its JSON. It asks nobody.
package view
