package tosca

// The codes of what is wrong with a document, beside those of its YAML
// (TOSCA-YAML-…), its grammar (TOSCA-DOC-…), its imports (TOSCA-IMP-…) and its
// archive (TOSCA-CSAR-…). A released code never changes its meaning.
const (
	codeTypeForeign = "TOSCA-TYPE-004" // a node that is none of TosKer's

	codeValueLarge = "TOSCA-VAL-004"

	codePropUnknown = "TOSCA-PROP-001"

	codeFunctionEntity = "TOSCA-FUN-003"

	codeName      = "TOSCA-NAME-001" // a name that cannot be used
	codeNameTwice = "TOSCA-NAME-002" // names that differ by case only
	codeNameRoute = "TOSCA-NAME-003" // a name that collides with a route of the manager

	codeReqClass       = "TOSCA-REQ-002" // a relationship that means nothing to TosKer
	codeReqKind        = "TOSCA-REQ-004" // a node that cannot fulfil it
	codeReqMissing     = "TOSCA-REQ-005"
	codeReqMany        = "TOSCA-REQ-006"
	codeReqLocation    = "TOSCA-REQ-010"
	codeReqTwice       = "TOSCA-REQ-011" // one location for two volumes
	codeReqAgain       = "TOSCA-REQ-019" // a connection or dependency that is written twice
	codeArtRepository  = "TOSCA-ART-002"
	codeImageMissing   = "TOSCA-ART-003"
	codeImageMany      = "TOSCA-ART-004"
	codeImageName      = "TOSCA-ART-005"
	codeContainerValue = "TOSCA-CONT-001" // ports, variables or shares that make no sense
	codePortTwice      = "TOSCA-CONT-002"
	codeContainerOp    = "TOSCA-CONT-003" // an operation that a container would never run

	codeOpName    = "TOSCA-OP-003"
	codeOpInput   = "TOSCA-OP-004" // an input that cannot be a variable
	codeOpMissing = "TOSCA-OP-005" // a required input without a value

	codeScriptMode    = "TOSCA-OP-006"   // a script that is not executable
	codeScriptLineEnd = "TOSCA-OP-007"   // a #! line with a DOS line end
	codeComponentPort = "TOSCA-COMP-001" // two components of one container on one port

	codePolicyTwice  = "TOSCA-POL-002"
	codePolicyState  = "TOSCA-POL-003"
	codePolicyName   = "TOSCA-POL-004" // an operation, requirement or capability that is not there
	codePolicyShape  = "TOSCA-POL-005"
	codePolicyTwoWay = "TOSCA-POL-006" // ambiguous
	codePolicyIdle   = "TOSCA-POL-009" // a protocol without targets
	codePolicyDoubt  = "TOSCA-POL-010" // an operation that leads to two states, past others
)
