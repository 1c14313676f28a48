// Package api is the manager's REST API: routes, requests, answers and
// problems. What it answers with is openapi.yaml; a test keeps that and the
// routes in agreement. It starts no goroutine; Serve owns those of its server.
package api
