// Package schema is a test: it validates documents by the JSON Schemas in docs.
package schema
