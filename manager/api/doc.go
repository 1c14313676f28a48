// Package api is the manager's REST API: routes, requests, answers and
// problems. openapi.yaml describes it; a test keeps the two in
// agreement. It starts no goroutine; Serve owns those of its server.
package api
