// Package code defines the codes of diagnostics, except those of archives and YAML. A
// released code never changes its meaning.
package code

const (
	Keyword    = "TOSCA-DOC-001" // an unknown keyword
	Shape      = "TOSCA-DOC-002" // a value of the wrong kind
	Untyped    = "TOSCA-DOC-003" // a missing keyword
	Version    = "TOSCA-DOC-004" // no or an unknown tosca_definitions_version
	Constraint = "TOSCA-DOC-005" // an unknown constraint
	Other      = "TOSCA-DOC-006" // a keyword of another version
	Together   = "TOSCA-DOC-007" // keywords or definitions that exclude each other

	Import       = "TOSCA-IMP-001" // an imported file that is not in the archive
	ImportFetch  = "TOSCA-IMP-002" // an import that would have to be fetched
	ImportRepo   = "TOSCA-IMP-003" // an import from an unknown repository
	TooManyFiles = "TOSCA-IMP-004"
	Profile      = "TOSCA-IMP-005" // an unknown profile

	TypeUnknown = "TOSCA-TYPE-001" // 002: a name defined twice
	TypeTwice   = "TOSCA-TYPE-002"
	TypeCycle   = "TOSCA-TYPE-003"
	TypeForeign = "TOSCA-TYPE-004" // a node that is not of TosKer's types
	Refined     = "TOSCA-TYPE-005" // an invalid refinement of an inherited definition
	TypeVersion = "TOSCA-TYPE-006"

	NoTopology = "TOSCA-TOPO-001"
	NoNodes    = "TOSCA-TOPO-002"
	Ignored    = "TOSCA-TOPO-003" // a part that is read and has no effect

	InputUnknown = "TOSCA-INP-001" // a value for an input that is not declared
	InputMissing = "TOSCA-INP-002"
	InputValue   = "TOSCA-INP-003" // a value that is not a TOSCA value
	InputUnused  = "TOSCA-INP-004" // an input that nothing reads

	ValueType       = "TOSCA-VAL-001" // a value of another type
	ValueConstraint = "TOSCA-VAL-002" // a value that breaks a constraint or validation
	ConstraintWrong = "TOSCA-VAL-003" // the constraint itself makes no sense
	ValueLarge      = "TOSCA-VAL-004"
	Work            = "TOSCA-VAL-005" // too much work in all
	Schema          = "TOSCA-VAL-006" // a missing or invalid key or entry schema
	Pattern         = "TOSCA-VAL-007" // a pattern that cannot be checked here
	Scalar          = "TOSCA-VAL-008" // invalid units of a scalar type
	Default         = "TOSCA-VAL-009" // a default that is never used

	PropUnknown  = "TOSCA-PROP-001"
	PropMissing  = "TOSCA-PROP-002"
	PropFixed    = "TOSCA-PROP-003" // an assignment to a fixed value
	AttrUnknown  = "TOSCA-PROP-004"
	PropTogether = "TOSCA-PROP-005" // values that exclude each other

	Function        = "TOSCA-FUN-001" // invalid arguments
	FunctionInput   = "TOSCA-FUN-002"
	FunctionEntity  = "TOSCA-FUN-003"
	FunctionName    = "TOSCA-FUN-004" // an unknown property, attribute or artifact
	FunctionCycle   = "TOSCA-FUN-005"
	FunctionRuntime = "TOSCA-FUN-006" // known only when the application runs
	FunctionPlace   = "TOSCA-FUN-007" // get_artifact outside of an operation's input
	FunctionUnknown = "TOSCA-FUN-008"

	Name      = "TOSCA-NAME-001" // a name that cannot be used
	NameTwice = "TOSCA-NAME-002" // names that differ by case only

	Copy      = "TOSCA-NODE-001"
	Abstract  = "TOSCA-NODE-002" // left to be selected or substituted
	CapName   = "TOSCA-NODE-003" // an unknown capability
	Directive = "TOSCA-NODE-004"
	Count     = "TOSCA-NODE-005"

	ReqUnknown    = "TOSCA-REQ-001"
	ReqClass      = "TOSCA-REQ-002" // a relationship without a meaning for TosKer
	ReqTarget     = "TOSCA-REQ-003" // a node that is not in the topology
	ReqKind       = "TOSCA-REQ-004" // a node that cannot fulfil it
	ReqMissing    = "TOSCA-REQ-005"
	ReqMany       = "TOSCA-REQ-006"
	ReqAbstract   = "TOSCA-REQ-007" // no node: incomplete
	ReqCycle      = "TOSCA-REQ-008"
	ReqSelf       = "TOSCA-REQ-009"
	ReqLocation   = "TOSCA-REQ-010"
	ReqTwice      = "TOSCA-REQ-011" // one location for two volumes
	ReqRelation   = "TOSCA-REQ-012" // an unknown relationship
	ReqCapability = "TOSCA-REQ-013"
	ReqRefined    = "TOSCA-REQ-014" // a relationship that is not of the definition's type
	ReqSource     = "TOSCA-REQ-015" // an end that a type does not allow
	Allocation    = "TOSCA-REQ-016"
	ReqDefined    = "TOSCA-REQ-017" // a definition without a capability or relationship
	Filter        = "TOSCA-REQ-018" // a node filter with unknown names
	ReqAgain      = "TOSCA-REQ-019" // a connection or dependency that is written twice

	ArtFile       = "TOSCA-ART-001" // a file that is not in the archive
	ArtRepository = "TOSCA-ART-002"
	ImageMissing  = "TOSCA-ART-003"
	ImageMany     = "TOSCA-ART-004"
	ImageName     = "TOSCA-ART-005"

	IfaceUnknown  = "TOSCA-OP-001"
	OpUnknown     = "TOSCA-OP-002"
	OpName        = "TOSCA-OP-003"
	OpInput       = "TOSCA-OP-004" // an input that cannot be a variable
	OpMissing     = "TOSCA-OP-005" // a required input without a value
	ScriptShell   = "TOSCA-OP-006" // a script without an interpreter
	ScriptLineEnd = "TOSCA-OP-007" // a #! line with a DOS line end
	Mapping       = "TOSCA-OP-008" // an output that is written to an unknown attribute
	OpImplemented = "TOSCA-OP-009" // an implementation in an interface type
	IfaceType     = "TOSCA-OP-010"

	ContainerValue = "TOSCA-CONT-001" // invalid ports, variables or shares
	PortTwice      = "TOSCA-CONT-002"
	ContainerOp    = "TOSCA-CONT-003" // an operation that a container would never run

	ComponentPort = "TOSCA-COMP-001" // two components of one container on one port

	TaskRun      = "TOSCA-TASK-001" // a Task without a script
	TaskInput    = "TOSCA-TASK-002" // an input that every Task has
	TaskProtocol = "TOSCA-TASK-003" // a protocol in which a Task never runs
	TaskTarget   = "TOSCA-TASK-004" // a requirement that a Task does not fulfil

	GroupMember = "TOSCA-GRP-001"
	GroupType   = "TOSCA-GRP-002" // a member that the group type does not allow

	PolicyTarget = "TOSCA-POL-001"
	PolicyTwice  = "TOSCA-POL-002"
	PolicyState  = "TOSCA-POL-003"
	PolicyName   = "TOSCA-POL-004" // an unknown operation, requirement or capability
	PolicyShape  = "TOSCA-POL-005"
	PolicyTwoWay = "TOSCA-POL-006" // ambiguous
	PolicyType   = "TOSCA-POL-007" // a target that the policy type does not allow
	Trigger      = "TOSCA-POL-008" // a trigger that watches an unknown node
	PolicyIdle   = "TOSCA-POL-009" // a protocol without targets
	PolicyDoubt  = "TOSCA-POL-010" // an operation with two possible target states
	PolicyFree   = "TOSCA-POL-011" // an operation that no transition names

	FlowTarget  = "TOSCA-FLOW-001"
	FlowStep    = "TOSCA-FLOW-002"
	FlowUnknown = "TOSCA-FLOW-003"

	Mapped   = "TOSCA-SUB-001" // a mapping of an unknown member of the node type
	MappedTo = "TOSCA-SUB-002" // a mapping to an unknown member of the topology
)
