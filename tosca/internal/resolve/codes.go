package resolve

// The codes of what is wrong with a document, beside those of its YAML
// (TOSCA-YAML-…), its grammar (TOSCA-DOC-…), its imports (TOSCA-IMP-…) and its
// archive (TOSCA-CSAR-…). A released code never changes its meaning.
const (
	codeTypeUnknown = "TOSCA-TYPE-001" // 002: a name defined twice
	codeTypeCycle   = "TOSCA-TYPE-003"
	codeUntyped     = "TOSCA-DOC-003" // as where the grammar can tell what is missing

	codeShape       = "TOSCA-DOC-002" // a value of another shape than the keyword's
	codeTogether    = "TOSCA-DOC-007" // keywords or definitions that exclude each other
	codeMissing     = "TOSCA-DOC-003" // a keyword that must be there, and is not inherited
	codeTypeVersion = "TOSCA-TYPE-006"

	codeNoTopology = "TOSCA-TOPO-001"
	codeNoNodes    = "TOSCA-TOPO-002"

	codeInputUnknown = "TOSCA-INP-001" // a value for an input that is not declared
	codeInputMissing = "TOSCA-INP-002"
	codeInputValue   = "TOSCA-INP-003" // a value that is no TOSCA value
	codeInputUnused  = "TOSCA-INP-004" // an input that nothing reads

	codeValueType       = "TOSCA-VAL-001"
	codeValueConstraint = "TOSCA-VAL-002"
	codeConstraintWrong = "TOSCA-VAL-003" // the constraint itself makes no sense
	codeValueLarge      = "TOSCA-VAL-004"
	codeWork            = "TOSCA-VAL-005" // too much work in all

	codePropUnknown = "TOSCA-PROP-001"
	codePropMissing = "TOSCA-PROP-002"

	codeFunction        = "TOSCA-FUN-001" // arguments that a function does not take
	codeFunctionInput   = "TOSCA-FUN-002"
	codeFunctionEntity  = "TOSCA-FUN-003"
	codeFunctionName    = "TOSCA-FUN-004" // a property, attribute or artifact that is not there
	codeFunctionCycle   = "TOSCA-FUN-005"
	codeFunctionRuntime = "TOSCA-FUN-006" // known only when the application runs
	codeFunctionPlace   = "TOSCA-FUN-007" // get_artifact outside of an operation's input

	codeCopy     = "TOSCA-NODE-001"
	codeAbstract = "TOSCA-NODE-002" // left to be selected or substituted
	codeCapName  = "TOSCA-NODE-003" // an unknown capability

	codeReqUnknown    = "TOSCA-REQ-001"
	codeReqTarget     = "TOSCA-REQ-003" // a node that is not in the topology
	codeReqKind       = "TOSCA-REQ-004" // a node that cannot fulfil it
	codeReqMissing    = "TOSCA-REQ-005"
	codeReqMany       = "TOSCA-REQ-006"
	codeReqAbstract   = "TOSCA-REQ-007" // no node: incomplete
	codeReqCycle      = "TOSCA-REQ-008"
	codeReqSelf       = "TOSCA-REQ-009"
	codeReqRelation   = "TOSCA-REQ-012" // an unknown relationship
	codeReqCapability = "TOSCA-REQ-013"
	codeArtFile       = "TOSCA-ART-001" // a file that is not in the archive

	codeIfaceUnknown = "TOSCA-OP-001"
	codeOpUnknown    = "TOSCA-OP-002"

	codePolicyTarget = "TOSCA-POL-001"
	codeGroupMember  = "TOSCA-GRP-001"

	codeArtRepository = "TOSCA-ART-002"

	codePropFixed     = "TOSCA-PROP-003" // an assignment to what has a fixed value
	codeAttrUnknown   = "TOSCA-PROP-004"
	codePropTogether  = "TOSCA-PROP-005" // values that do not go together
	codeRefined       = "TOSCA-TYPE-005" // a change of what is inherited that is not allowed
	codeDirective     = "TOSCA-NODE-004"
	codeCount         = "TOSCA-NODE-005"
	codeReqRefined    = "TOSCA-REQ-014" // a relationship that is not of the definition's type
	codeReqSource     = "TOSCA-REQ-015" // an end that a type does not allow
	codeAllocation    = "TOSCA-REQ-016"
	codeReqDefined    = "TOSCA-REQ-017" // a definition without a capability or relationship
	codeFilter        = "TOSCA-REQ-018" // a node filter that names what is not there
	codeOpMissing     = "TOSCA-OP-005"  // a required input without a value
	codeMapping       = "TOSCA-OP-008"  // an output that is written to what is not there
	codeOpImplemented = "TOSCA-OP-009"  // an implementation in an interface type
	codeIfaceType     = "TOSCA-OP-010"
	codeGroupType     = "TOSCA-GRP-002" // a member that the type of the group is not for
	codePolicyType    = "TOSCA-POL-007" // a target that the type of the policy is not for
	codeTrigger       = "TOSCA-POL-008" // a trigger that watches what is not there

	codeFlowTarget  = "TOSCA-FLOW-001"
	codeFlowStep    = "TOSCA-FLOW-002"
	codeFlowUnknown = "TOSCA-FLOW-003"
	codeFlowInput   = "TOSCA-FLOW-004"
	codeFlowCall    = "TOSCA-FLOW-005"
	codeFlowCycle   = "TOSCA-FLOW-006"
	codeFlowHost    = "TOSCA-FLOW-007" // a place where no operation of a step can run
	codeFlowStates  = "TOSCA-FLOW-008" // a precondition as one example of the text has it

	codeMapped      = "TOSCA-SUB-001" // a mapping of what the node type does not have
	codeMappedTo    = "TOSCA-SUB-002" // a mapping to what is not in the topology
	codeMappedType  = "TOSCA-SUB-003"
	codeMappedInput = "TOSCA-SUB-004"
	codeMappedCount = "TOSCA-SUB-005"
)
