package v1

import (
	"fmt"
	"strings"
)

// AMIFamily names how images of a kind are configured at boot.
//
// +kubebuilder:validation:Enum=AL2;AL2023;Bottlerocket;Custom;Windows2019;Windows2022;Windows2025
type AMIFamily string

// Families of images.
const (
	AMIFamilyAL2          AMIFamily = "AL2"
	AMIFamilyAL2023       AMIFamily = "AL2023"
	AMIFamilyBottlerocket AMIFamily = "Bottlerocket"
	AMIFamilyCustom       AMIFamily = "Custom"
	AMIFamilyWindows2019  AMIFamily = "Windows2019"
	AMIFamilyWindows2022  AMIFamily = "Windows2022"
	AMIFamilyWindows2025  AMIFamily = "Windows2025"
)

// AliasVersionLatest is the alias version that follows the newest image.
const AliasVersionLatest = "latest"

// aliasFamilies maps an alias' family to the family that it means.
var aliasFamilies = map[string]AMIFamily{
	"al2":          AMIFamilyAL2,
	"al2023":       AMIFamilyAL2023,
	"bottlerocket": AMIFamilyBottlerocket,
	"windows2019":  AMIFamilyWindows2019,
	"windows2022":  AMIFamilyWindows2022,
	"windows2025":  AMIFamilyWindows2025,
}

// IsWindows reports whether nodes of the family run Windows.
func (f AMIFamily) IsWindows() bool { return strings.HasPrefix(string(f), "Windows") }

// Alias is a parsed AMI alias.
type Alias struct {
	Family AMIFamily
	// Version is "latest" or the text that the user wrote, which may not exist.
	Version string
}

// IsLatest reports whether the alias follows the newest image.
func (a Alias) IsLatest() bool { return a.Version == AliasVersionLatest }

// ParseAlias reads family@version. The version is not checked beyond being there, as the schema
// does not check it either.
func ParseAlias(text string) (Alias, error) {
	name, version, found := strings.Cut(text, "@")
	family, known := aliasFamilies[name]
	switch {
	case !found || version == "":
		return Alias{}, fmt.Errorf("AMI alias %q: write family@version, for example al2023@latest", text)
	case !known:
		return Alias{}, fmt.Errorf("AMI alias %q: family %q is unknown, use one of al2, al2023, bottlerocket, windows2019, windows2022, windows2025", text, name)
	case family.IsWindows() && version != AliasVersionLatest:
		return Alias{}, fmt.Errorf("AMI alias %q: Windows images have no pinned versions, use %s@latest", text, name)
	}
	return Alias{Family: family, Version: version}, nil
}

// Alias returns the parsed alias of the class, nil when it selects images in another way.
//
// Errors: an alias that cannot be read.
func (c *EC2NodeClass) Alias() (*Alias, error) {
	for i, term := range c.Spec.AMISelectorTerms {
		if term.Alias == "" {
			continue
		}
		alias, err := ParseAlias(term.Alias)
		if err != nil {
			return nil, fmt.Errorf("EC2NodeClass %s: spec.amiSelectorTerms[%d].alias: %w", c.Name, i, err)
		}
		return &alias, nil
	}
	return nil, nil
}

// ResolvedAMIFamily returns the family that nodes of the class are configured as: the one that the
// spec names, else that of the alias, else Custom, which configures nothing.
func (c *EC2NodeClass) ResolvedAMIFamily() AMIFamily {
	if c.Spec.AMIFamily != nil && *c.Spec.AMIFamily != "" {
		return *c.Spec.AMIFamily
	}
	if alias, err := c.Alias(); err == nil && alias != nil {
		return alias.Family
	}
	return AMIFamilyCustom
}
