package check

import "github.com/kerf-sh/kerf/internal/awssetup"

// Mended is what mends a set-up.
type Mended struct {
	Text []byte    // a template, or blocks of Terraform; empty if nothing has to be mended
	Left []Finding // what it does not mend, for people to decide on
}

// Fix makes what mends what Compare finds.
func Fix(found *awssetup.Setup, kind Kind, data []byte, o Options) (*Mended, error) {
	return &Mended{}, nil
}
