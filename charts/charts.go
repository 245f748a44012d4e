// Package charts holds what the program needs of the Helm charts beside it.
package charts

import "embed"

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

// Alerts is the file of alert rules that charts/kerf makes its PrometheusRule of.
//
//go:embed kerf/files/monitoring/alerts.yaml
var Alerts []byte

// Dashboards are the dashboards for Grafana that charts/kerf makes its ConfigMap of, below DashboardsDir.
//
//go:embed kerf/files/monitoring/*.json
var Dashboards embed.FS

// DashboardsDir is the folder of Dashboards.
const DashboardsDir = "kerf/files/monitoring"
