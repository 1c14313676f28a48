package wire

import "errors"

// FaultCode is the number of a fault. Codes up to 92 are Supervisor's, and XML-RPC returns no
// others; codes from 200 on belong to the JSON API, which returns their names.
type FaultCode int

// Supervisors reports whether Supervisor's clients know the code.
func (c FaultCode) Supervisors() bool { return c < NotAllowed }

// The fault codes of Supervisor.
const (
	UnknownMethod        FaultCode = 1
	IncorrectParameters  FaultCode = 2
	BadArguments         FaultCode = 3
	SignatureUnsupported FaultCode = 4
	ShutdownState        FaultCode = 6
	BadName              FaultCode = 10
	BadSignal            FaultCode = 11
	NoFile               FaultCode = 20
	NotExecutable        FaultCode = 21
	Failed               FaultCode = 30
	AbnormalTermination  FaultCode = 40
	SpawnError           FaultCode = 50
	AlreadyStarted       FaultCode = 60
	NotRunning           FaultCode = 70
	Success              FaultCode = 80
	AlreadyAdded         FaultCode = 90
	StillRunning         FaultCode = 91
	CantReread           FaultCode = 92
)

// The fault codes of executions.
const (
	// NotAllowed: the component's protocol has no such transition from its state.
	NotAllowed FaultCode = 200
	// Busy: another operation of the component is running.
	Busy FaultCode = 201
	// OtherInstance: the request was for another instance of this container.
	OtherInstance FaultCode = 202
	// NewerEntry: the journal has newer entries of the component than the caller knows.
	NewerEntry FaultCode = 203
	// UndeclaredInput: the operation does not declare the input's name.
	UndeclaredInput FaultCode = 204
	// JournalUnavailable: operations are rejected while the journal cannot be written.
	JournalUnavailable FaultCode = 205
	// NoExecution: no execution has this id.
	NoExecution FaultCode = 206
	// OtherExecution: the id belongs to an execution of another operation.
	OtherExecution FaultCode = 207
)

// The fault codes of documents.
const (
	// NoDocument: the unit does not have the document yet.
	NoDocument FaultCode = 208
	// OldRevision: the stored document wins.
	OldRevision FaultCode = 209
	// NoDocuments: the unit has no folder for documents.
	NoDocuments FaultCode = 210
	// NoStorage: the folder for documents cannot be written or read.
	NoStorage FaultCode = 211
)

var faultNames = map[FaultCode]string{
	UnknownMethod: "UNKNOWN_METHOD", IncorrectParameters: "INCORRECT_PARAMETERS",
	BadArguments: "BAD_ARGUMENTS", SignatureUnsupported: "SIGNATURE_UNSUPPORTED",
	ShutdownState: "SHUTDOWN_STATE", BadName: "BAD_NAME", BadSignal: "BAD_SIGNAL",
	NoFile: "NO_FILE", NotExecutable: "NOT_EXECUTABLE", Failed: "FAILED",
	AbnormalTermination: "ABNORMAL_TERMINATION", SpawnError: "SPAWN_ERROR",
	AlreadyStarted: "ALREADY_STARTED", NotRunning: "NOT_RUNNING", Success: "SUCCESS",
	AlreadyAdded: "ALREADY_ADDED", StillRunning: "STILL_RUNNING", CantReread: "CANT_REREAD",
	NotAllowed: "NOT_ALLOWED", Busy: "BUSY", OtherInstance: "OTHER_INSTANCE",
	NewerEntry: "NEWER_ENTRY", UndeclaredInput: "UNDECLARED_INPUT",
	JournalUnavailable: "JOURNAL_UNAVAILABLE", NoExecution: "NO_EXECUTION",
	OtherExecution: "OTHER_EXECUTION", NoDocument: "NO_DOCUMENT", OldRevision: "OLD_REVISION",
	NoDocuments: "NO_DOCUMENTS", NoStorage: "NO_STORAGE",
}

// FaultNamed returns the code of a name, or 0.
func FaultNamed(name string) FaultCode {
	for code, known := range faultNames {
		if known == name {
			return code
		}
	}
	return 0
}

// String returns the fault's name, which begins the fault's text.
func (c FaultCode) String() string {
	if name, ok := faultNames[c]; ok {
		return name
	}
	return "UNKNOWN"
}

// Fault is an error that is reported to the client, with its code. A rejected execution has the
// data that the client needs for another request.
type Fault struct {
	Code      FaultCode
	Detail    string     // may be empty
	Instance  string     // of the unit that rejects an execution; otherwise empty
	Component *Component // when the execution was rejected; nil for other faults
	Revision  string     // of the winning document; empty for other faults
}

// NewFault returns a fault as an error.
func NewFault(code FaultCode, detail string) error { return &Fault{Code: code, Detail: detail} }

// Error returns the text of the fault: `NAME` or `NAME: detail`.
func (f *Fault) Error() string {
	if f.Detail == "" {
		return f.Code.String()
	}
	return f.Code.String() + ": " + f.Detail
}

// FaultCodeOf returns the code of the fault in err's chain, and whether there is one.
func FaultCodeOf(err error) (FaultCode, bool) {
	var f *Fault
	if errors.As(err, &f) {
		return f.Code, true
	}
	return 0, false
}
