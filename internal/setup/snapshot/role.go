package snapshot

import _ "embed" // the role

// Role is the ClusterRole with all rights that Collect uses, as YAML.
//
//go:embed role.yaml
var Role []byte
