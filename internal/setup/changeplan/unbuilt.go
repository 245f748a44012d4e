package changeplan

import (
	"bytes"
	"path/filepath"
	"strings"
)

// Unbuilt says of a file that is no object of Kubernetes which tool makes objects of it, and how: a sentence that goes on behind a
// message. It is empty for all other files.
func Unbuilt(f File) string {
	const (
		kustomize = "; it is a file of kustomize: give what this writes in place of the folder: kustomize build overlays/prod > all.yaml"
		helm      = " of Helm: give what this writes in place of the folder: helm template CHART > all.yaml"
	)
	switch name := strings.ToLower(filepath.Base(f.Name)); {
	case name == "kustomization.yaml" || name == "kustomization.yml":
		return kustomize
	case name == "chart.yaml" || strings.HasPrefix(name, "values"):
		return "; it is a file" + helm
	case bytes.Contains(f.Data, []byte("{{")):
		return "; it has {{, as a template" + helm
	}
	return ""
}
