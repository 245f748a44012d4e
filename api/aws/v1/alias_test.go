package v1_test

import (
	"strings"
	"testing"

	v1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/api/aws/v1/apitest"
)

func TestParseAlias(t *testing.T) {
	for text, want := range map[string]v1.Alias{
		"al2@v20240807":        {Family: v1.AMIFamilyAL2, Version: "v20240807"},
		"al2023@latest":        {Family: v1.AMIFamilyAL2023, Version: "latest"},
		"bottlerocket@v1.20.3": {Family: v1.AMIFamilyBottlerocket, Version: "v1.20.3"},
		"bottlerocket@1.20":    {Family: v1.AMIFamilyBottlerocket, Version: "1.20"},
		"windows2019@latest":   {Family: v1.AMIFamilyWindows2019, Version: "latest"},
		"windows2022@latest":   {Family: v1.AMIFamilyWindows2022, Version: "latest"},
		"windows2025@latest":   {Family: v1.AMIFamilyWindows2025, Version: "latest"},
		"al2023@foo bar":       {Family: v1.AMIFamilyAL2023, Version: "foo bar"},
	} {
		if got, err := v1.ParseAlias(text); err != nil || got != want {
			t.Errorf("%q is %+v (%v), want %+v", text, got, err, want)
		}
	}
	for text, part := range map[string]string{
		"":                   "family@version",
		"al2023":             "family@version",
		"al2023@":            "family@version",
		"@latest":            "family \"\" is unknown",
		"AL2023@latest":      "use one of al2",
		"custom@latest":      "use one of al2",
		"windows2022@v1.2.3": "windows2022@latest",
	} {
		if got, err := v1.ParseAlias(text); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is %+v with error %v, want one with %q", text, got, err, part)
		}
	}
}

func TestResolvedAMIFamily(t *testing.T) {
	for name, tc := range map[string]struct {
		alias  string
		family *v1.AMIFamily
		want   v1.AMIFamily
	}{
		"the alias decides":                    {"bottlerocket@latest", nil, v1.AMIFamilyBottlerocket},
		"a family beside the alias wins":       {"bottlerocket@latest", new(v1.AMIFamilyCustom), v1.AMIFamilyCustom},
		"a family without an alias":            {"", new(v1.AMIFamilyAL2), v1.AMIFamilyAL2},
		"neither configures nothing":           {"", nil, v1.AMIFamilyCustom},
		"an alias that cannot be read":         {"ubuntu@latest", nil, v1.AMIFamilyCustom},
		"an empty family is as good as no one": {"al2@latest", new(v1.AMIFamily("")), v1.AMIFamilyAL2},
	} {
		t.Run(name, func(t *testing.T) {
			class := apitest.EC2NodeClass("c", func(c *v1.EC2NodeClass) {
				c.Spec.AMISelectorTerms = []v1.AMISelectorTerm{{Alias: tc.alias}}
				c.Spec.AMIFamily = tc.family
			})
			if got := class.ResolvedAMIFamily(); got != tc.want {
				t.Errorf("family %s, want %s", got, tc.want)
			}
		})
	}
}

func FuzzParseAlias(f *testing.F) {
	for _, seed := range []string{"al2023@latest", "windows2022@v1", "@", "a@b@c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		alias, err := v1.ParseAlias(text)
		if err == nil && strings.ToLower(string(alias.Family))+"@"+alias.Version != text {
			t.Errorf("%q is %+v, which is another alias", text, alias)
		}
	})
}
