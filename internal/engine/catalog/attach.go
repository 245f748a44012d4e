package catalog

import (
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/res"
)

// attachPrefix marks, in a schema, the number of volumes of a CSI driver as a resource. Reasons show the name as it is.
const attachPrefix = "volumes of "

// noAttachLimit is more volumes than any node attaches.
const noAttachLimit = 1 << 30

// AttachResource is the name under which volumes of a CSI driver are counted as a resource.
func AttachResource(driver string) string { return attachPrefix + driver }

// AttachDriver is the driver of a name that AttachResource gave; false for other resources.
func AttachDriver(resource string) (string, bool) { return strings.CutPrefix(resource, attachPrefix) }

// AddAttachLimits sets the resources of v that are volumes to the limits by driver, and returns v.
func AddAttachLimits(schema *res.Schema, v res.Vector, limits res.List) res.Vector {
	for i := range schema.Len() {
		driver, ok := AttachDriver(schema.Name(i))
		if !ok {
			continue
		}
		v[i] = noAttachLimit
		if most, known := limits[driver]; known {
			v[i] = most
		}
	}
	return v
}
