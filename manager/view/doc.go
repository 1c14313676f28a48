// Package view represents an application at one moment: its nodes, components and operations, from the mirror's
// state and the components' requirements, and as JSON. It sends no requests.
package view
