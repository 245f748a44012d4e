// Package charts holds what the program needs of the Helm charts beside it.
package charts

import _ "embed"

// Values are the default values of charts/kerf.
//
//go:embed kerf/values.yaml
var Values []byte
