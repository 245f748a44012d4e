package authz

import (
	"sync"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// documents remembers what policy texts say.
type documents struct {
	mu   sync.Mutex
	read map[string]*iampolicy.Document
}

// maxDocuments is how many texts are remembered.
const maxDocuments = 100

// document reads the policy of a resource. The services refuse texts that cannot be read; one that got past them says
// nothing.
func (a *Authorizer) document(text string) *iampolicy.Document {
	if text == "" {
		return nil
	}
	a.docs.mu.Lock()
	defer a.docs.mu.Unlock()
	if d, ok := a.docs.read[text]; ok {
		return d
	}
	d, err := iampolicy.Parse([]byte(text))
	if err != nil {
		a.logger.Warn("policy of a simulated resource cannot be read", "error", err)
		d = nil
	}
	if a.docs.read == nil || len(a.docs.read) >= maxDocuments {
		a.docs.read = map[string]*iampolicy.Document{}
	}
	a.docs.read[text] = d
	return d
}
