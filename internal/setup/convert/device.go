package convert

import (
	"fmt"
	"regexp"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// oldDevices converts block device mappings of v1alpha1 and v1beta1.
func (f *fields) oldDevices(spec *awsv1.EC2NodeClassSpec) {
	list := f.list("blockDeviceMappings")
	for i, v := range list {
		at := fmt.Sprintf("%s[%d]", f.at("blockDeviceMappings"), i)
		d, ok := f.below(v, at)
		if !ok {
			continue
		}
		size := d.deviceSize()
		mapped := false
		if v, ok := d.take("virtualName"); ok {
			mapped = true
			d.lost(d.at("virtualName"), fmt.Sprintf("instance store disks (%v) are not mapped by name", v), "use spec.instanceStorePolicy: RAID0, or set up the disks in spec.userData")
		}
		if _, ok := d.take("noDevice"); ok {
			mapped = true
			d.lost(d.at("noDevice"), "a device of the image can't be left out", "make an image without it")
		}
		var out awsv1.BlockDeviceMapping
		if !f.decode(&out, at, d.root) {
			continue
		}
		if out.EBS != nil && size != nil {
			out.EBS.VolumeSize = size
		}
		if out.EBS == nil && mapped {
			continue
		}
		if out.EBS == nil || out.EBS.VolumeSize == nil && out.EBS.SnapshotID == nil {
			d.lost(at, "a device needs ebs.volumeSize or ebs.snapshotID now; without, the size was that of the image's own snapshot", "write the device back with its size: "+describeDevice(&out))
			continue
		}
		spec.BlockDeviceMappings = append(spec.BlockDeviceMappings, out)
		do := ""
		if out.EBS.KMSKeyID != nil {
			do = volumeKey(*out.EBS.KMSKeyID)
		}
		d.report.add(Field{Path: at, Outcome: Kept, To: "spec.blockDeviceMappings", Do: do})
	}
}

func describeDevice(d *awsv1.BlockDeviceMapping) string {
	if d.DeviceName == nil {
		return "it has no name, either"
	}
	return *d.DeviceName
}

var goodSize = regexp.MustCompile(`^[1-9][0-9]*(Gi|G|Ti|T)$`)

// deviceSize takes the size of a volume away and gives it back in a unit that the API takes.
func (f *fields) deviceSize() *resource.Quantity {
	if !f.has("ebs", "volumeSize") {
		return nil
	}
	text, ok := f.text("ebs", "volumeSize")
	if !ok {
		return nil
	}
	at := f.at("ebs", "volumeSize")
	q, ok := quantity(text)
	if !ok || q.Sign() <= 0 {
		f.fail(at, "%q is no size", text)
		return nil
	}
	if goodSize.MatchString(text) {
		return &q
	}
	out := gibibytes(gibOf(&q))
	f.translated(at, "spec.blockDeviceMappings: volumeSize "+out.String(), "sizes are whole Gi, G, Ti or T; "+text+" is rounded up")
	return out
}

// enormous matches exponents over which the quantity parser sits for minutes.
var enormous = regexp.MustCompile(`[eE][-+]?[0-9]{3}`)

// quantity reads a quantity of ordinary size.
func quantity(text string) (resource.Quantity, bool) {
	if len(text) > 64 || enormous.MatchString(text) {
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}

// gibOf is a size in GiB, rounded up.
func gibOf(q *resource.Quantity) int64 {
	const gib = 1 << 30
	n := q.Value()
	return n/gib + min(1, n%gib)
}

func gibibytes(n int64) *resource.Quantity {
	return new(resource.MustParse(strconv.FormatInt(n, 10) + "Gi"))
}
