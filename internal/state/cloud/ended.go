package cloud

// Ended is why an instance is no more. As an error it is found in the chain of the NotFound of whoever looked for it.
type Ended struct {
	// Code is the cloud's word, such as Client.InternalError; empty when it gives none.
	Code string
	// Reason is the CamelCase word for conditions.
	Reason string
	// Message says what happened and what to do about it.
	Message string
	Blame   Blame
}

// Error implements error.
func (e *Ended) Error() string { return e.Message }

// Blame is what the next instance has to differ in so that it does not end the same way.
type Blame string

// What is to blame for an instance's end.
const (
	// BlameNobody: somebody ended it, or its time was up; the next one need not end so.
	BlameNobody Blame = ""
	// BlameClass: every instance of the node class ends so until something is fixed.
	BlameClass Blame = "class"
	// BlamePool: instances of this type in this zone, on demand or spot, end so for a while.
	BlamePool Blame = "pool"
)
