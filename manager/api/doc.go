// Package api is the manager's REST API: routes, requests, responses and problem documents. Package openapi
// describes it; a test keeps the two consistent.
package api
