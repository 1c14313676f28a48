package rest

// Credentials describe the rotatable passwords and certificates that the manager and the units use. They contain no
// secrets.
type Credentials struct {
	Manager ManagerCredentials `json:"manager"`
	Units   []UnitCredentials  `json:"units"`
}

// ManagerCredentials describe the manager's credentials.
type ManagerCredentials struct {
	Passwords   int      `json:"passwords"`             // of its first user
	Keys        int      `json:"keys"`                  // number of keys that verify documents; 0: documents are not signed
	Signed      bool     `json:"signed"`                // all replicas store documents signed by the first key
	Certificate string   `json:"certificate,omitempty"` // SHA-256 of its own certificate, with which it identifies itself to units
	Authorities []string `json:"authorities,omitempty"` // SHA-256 of the authorities that it trusts
}

// UnitCredentials describe a unit's credentials.
type UnitCredentials struct {
	Node        string   `json:"node"`
	Replica     string   `json:"replica"`
	Passwords   int      `json:"passwords"`             // number of accepted passwords; 0: it does not reload them
	Known       int      `json:"known"`                 // number of passwords that the manager has for it
	Accepted    bool     `json:"accepted"`              // it accepts the newest of them
	Certificate string   `json:"certificate,omitempty"` // SHA-256 of its own certificate
	Authorities []string `json:"authorities,omitempty"` // SHA-256 of the authorities that it trusts
	Problem     string   `json:"problem,omitempty"`     // why it cannot be queried
}
