// Package charts holds what the program needs of the Helm charts beside it.
package charts

import _ "embed"

// Values are the default values of charts/kerf.
//
//go:embed kerf/values.yaml
var Values []byte

// Schema is the JSON schema of the values of charts/kerf, by which Helm accepts or refuses them.
//
//go:embed kerf/values.schema.json
var Schema []byte

// About is Chart.yaml of charts/kerf, with the version of the controller that it installs.
//
//go:embed kerf/Chart.yaml
var About []byte
