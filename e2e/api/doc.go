// Package api is a test: it sends requests to the handlers of manager/api, and validates every
// response by the OpenAPI document.
package api
