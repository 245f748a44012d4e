package v1

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate checks what the schema admits but nobody can launch, so that a class says so instead of
// failing at the first launch. Warnings tell what is ignored.
func (c *EC2NodeClass) Validate() (errs field.ErrorList, warnings []string) {
	path := field.NewPath("spec")
	warnings = c.mixedTerms(path)
	for i := range c.Spec.AMISelectorTerms {
		if alias := c.Spec.AMISelectorTerms[i].Alias; alias != "" {
			if _, err := ParseAlias(alias); err != nil {
				errs = append(errs, field.Invalid(path.Child("amiSelectorTerms").Index(i).Child("alias"), alias, err.Error()))
			}
		}
	}
	if c.Spec.LaunchTemplate != nil {
		errs = append(errs, c.validateLaunchTemplate(path)...)
	} else if (c.Spec.Role == "") == (c.Spec.InstanceProfile == nil || *c.Spec.InstanceProfile == "") {
		errs = append(errs, field.Required(path.Child("role"), "set exactly one of role and instanceProfile, or a launchTemplate"))
	}
	errs = append(errs, validateTags(c.Spec.Tags, path.Child("tags"))...)
	errs = append(errs, validateDevices(c.Spec.BlockDeviceMappings, path.Child("blockDeviceMappings"))...)
	if c.Spec.Kubelet != nil {
		errs = append(errs, c.Spec.Kubelet.validate(path.Child("kubelet"))...)
		errs = append(errs, c.validateImageGC(path.Child("kubelet"))...)
	}
	return errs, warnings
}

// mixedTerms names the selector terms that mix an exclusive field with others. The schema refuses
// them only when every term does so, and stored classes have them.
func (c *EC2NodeClass) mixedTerms(path *field.Path) (warnings []string) {
	note := func(list string, i int, wins string, mixed bool) {
		if mixed {
			warnings = append(warnings, path.Child(list).Index(i).String()+": "+wins+" counts and the other fields of the term are ignored; remove them")
		}
	}
	for i, t := range c.Spec.SubnetSelectorTerms {
		note("subnetSelectorTerms", i, "id", t.ID != "" && len(t.Tags) > 0)
	}
	for i, t := range c.Spec.SecurityGroupSelectorTerms {
		note("securityGroupSelectorTerms", i, "id", t.ID != "" && (t.Name != "" || len(t.Tags) > 0))
		note("securityGroupSelectorTerms", i, "name", t.ID == "" && t.Name != "" && len(t.Tags) > 0)
	}
	for i, t := range c.Spec.CapacityReservationSelectorTerms {
		note("capacityReservationSelectorTerms", i, "id", t.ID != "" && (t.OwnerID != "" || t.InstanceMatchCriteria != "" || len(t.Tags) > 0))
	}
	for i, t := range c.Spec.AMISelectorTerms {
		others := t.Name != "" || t.Owner != "" || len(t.Tags) > 0
		note("amiSelectorTerms", i, "alias", t.Alias != "" && (t.ID != "" || t.SSMParameter != "" || others))
		note("amiSelectorTerms", i, "id", t.Alias == "" && t.ID != "" && (t.SSMParameter != "" || others))
		note("amiSelectorTerms", i, "ssmParameter", t.Alias == "" && t.ID == "" && t.SSMParameter != "" && others)
	}
	return warnings
}

// RestrictedTag returns why users may not set the tag; empty if they may.
func RestrictedTag(key string) string {
	switch {
	case key == TagEKSCluster, strings.HasPrefix(key, strings.TrimSuffix(TagClusterPrefix, "/")):
		return "the tag marks the owning cluster; remove it"
	case key == TagNodePool, key == TagNodeClaim, key == TagNodeClass:
		return "the tag is always the name of the object that the instance is for; remove it"
	case strings.HasPrefix(strings.ToLower(key), "aws:"):
		return "AWS keeps tags that start with aws: to itself; use another key"
	}
	return ""
}

func validateTags(tags map[string]string, path *field.Path) (errs field.ErrorList) {
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if why := RestrictedTag(key); why != "" {
			errs = append(errs, field.Forbidden(path.Key(key), why))
		}
	}
	return errs
}

func validateDevices(devices []BlockDeviceMapping, path *field.Path) (errs field.ErrorList) {
	seen := map[string]bool{}
	for i, d := range devices {
		at := path.Index(i)
		switch {
		case d.DeviceName == nil || *d.DeviceName == "":
			errs = append(errs, field.Required(at.Child("deviceName"), "name the device, for example /dev/xvda"))
		case seen[*d.DeviceName]:
			errs = append(errs, field.Duplicate(at.Child("deviceName"), *d.DeviceName))
		default:
			seen[*d.DeviceName] = true
		}
		if d.EBS == nil {
			errs = append(errs, field.Required(at.Child("ebs"), "say what volume the device is, at least its volumeSize or snapshotID"))
		}
	}
	return errs
}

// validate checks the texts of which the schema knows only the shape.
func (k *KubeletConfiguration) validate(path *field.Path) (errs field.ErrorList) {
	quantities := func(name string, m map[string]string, percent bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if why := checkAmount(m[key], percent); why != "" {
				errs = append(errs, field.Invalid(path.Child(name).Key(key), m[key], why))
			}
		}
	}
	quantities("systemReserved", k.SystemReserved, false)
	quantities("kubeReserved", k.KubeReserved, false)
	quantities("evictionHard", k.EvictionHard, true)
	quantities("evictionSoft", k.EvictionSoft, true)
	for _, key := range slices.Sorted(maps.Keys(k.EvictionSoftGracePeriod)) {
		text := k.EvictionSoftGracePeriod[key]
		if d, err := time.ParseDuration(text); err != nil || d < 0 {
			errs = append(errs, field.Invalid(path.Child("evictionSoftGracePeriod").Key(key), text, "write a duration such as 1m30s"))
		}
	}
	return errs
}

// Thresholds of image collection that the kubelet uses where none is set, in percent.
// Source: KubeletConfiguration (kubelet.config.k8s.io/v1beta1).
const defaultImageGCHigh, defaultImageGCLow = 85, 80

// validateImageGC compares the thresholds of image collection with the kubelet's defaults filled in: the schema compares
// them only where both are set, and the kubelet does not start where low is not below high. It says nothing where the
// other threshold may come from elsewhere: the user's image, launch template or user data.
func (c *EC2NodeClass) validateImageGC(path *field.Path) field.ErrorList {
	const highName, lowName = "imageGCHighThresholdPercent", "imageGCLowThresholdPercent"
	high, low := c.Spec.Kubelet.ImageGCHighThresholdPercent, c.Spec.Kubelet.ImageGCLowThresholdPercent
	if high == nil && low == nil || c.Spec.LaunchTemplate != nil || c.ResolvedAMIFamily() == AMIFamilyCustom {
		return nil
	}
	if text := c.Spec.UserData; text != nil && (strings.Contains(*text, "imageGC") || strings.Contains(*text, "image-gc")) {
		return nil
	}
	switch {
	case high == nil && *low >= defaultImageGCHigh:
		return field.ErrorList{field.Invalid(path.Child(lowName), *low, fmt.Sprintf(
			"the kubelet does not start: %s is not set, so it is %d, and the low threshold must be less: set %s above %d, or lower this one", highName, defaultImageGCHigh, highName, *low))}
	case low == nil && *high <= defaultImageGCLow:
		return field.ErrorList{field.Invalid(path.Child(highName), *high, fmt.Sprintf(
			"the kubelet does not start: %s is not set, so it is %d, and must be less than the high threshold: set %s below %d, or raise this one", lowName, defaultImageGCLow, lowName, *high))}
	case high != nil && low != nil && *low >= *high:
		return field.ErrorList{field.Invalid(path.Child(lowName), *low, fmt.Sprintf(
			"the kubelet does not start: the low threshold must be less than %s, which is %d", highName, *high))}
	}
	return nil
}

// enormous matches exponents over which the quantity parser sits for minutes. Our schema refuses
// them; classes stored under an older one may have them.
var enormous = regexp.MustCompile(`[eE][-+]?[0-9]{3}`)

// checkAmount returns what is wrong with a quantity or, where percent allows it, a percentage.
func checkAmount(text string, percent bool) string {
	if percent && (text == "" || strings.HasSuffix(text, "%")) {
		return "" // the schema knows the shape of percentages
	}
	if len(text) > 64 || enormous.MatchString(text) {
		return "write a quantity of ordinary size, such as 100Mi"
	}
	q, err := resource.ParseQuantity(text)
	switch {
	case err != nil:
		return "write a quantity such as 100Mi"
	case q.Sign() < 0:
		return "write a quantity that is not negative"
	}
	return ""
}
