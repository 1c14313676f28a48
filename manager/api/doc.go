// Package api is the manager's REST API: routes, requests, answers and
// problems. Package openapi describes it; a test keeps the two in
// agreement.
package api
