// Package rest defines the types of the manager's REST API, which its server and its client share, and the errors of
// requests by kind.
package rest
