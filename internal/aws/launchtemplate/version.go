package launchtemplate

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
)

// DefaultVersion is the version that is used where none is named.
const DefaultVersion = "$Default"

// VersionAPI is what ReadVersion calls.
type VersionAPI interface {
	DescribeLaunchTemplateVersions(context.Context, *ec2.DescribeLaunchTemplateVersionsInput, ...func(*ec2.Options)) (*ec2.DescribeLaunchTemplateVersionsOutput, error)
}

// Version is one version of a launch template, be it whose it may.
type Version struct {
	ID, Name string
	Number   int64
	Data     *types.ResponseLaunchTemplateData
}

// ReadVersion reads a version of a launch template, by name or ID (lt-…); version is a number, $Default or $Latest.
//
// Errors: those of the call, classified; a template or version that does not exist is of class NotFound.
func ReadVersion(ctx context.Context, api VersionAPI, template, version string) (*Version, error) {
	if version == "" {
		version = DefaultVersion
	}
	in := &ec2.DescribeLaunchTemplateVersionsInput{Versions: []string{version}}
	if strings.HasPrefix(template, "lt-") {
		in.LaunchTemplateId = &template
	} else {
		in.LaunchTemplateName = &template
	}
	what := fmt.Sprintf("reading version %s of launch template %s", version, template)
	out, err := api.DescribeLaunchTemplateVersions(ctx, in)
	if err != nil {
		return nil, awserr.Wrap(what, err)
	}
	if len(out.LaunchTemplateVersions) == 0 || out.LaunchTemplateVersions[0].LaunchTemplateData == nil {
		return nil, fmt.Errorf("%s: EC2 answers with none", what)
	}
	v := out.LaunchTemplateVersions[0]
	return &Version{
		ID: deref(v.LaunchTemplateId, ""), Name: deref(v.LaunchTemplateName, ""), Number: deref(v.VersionNumber, 0), Data: v.LaunchTemplateData,
	}, nil
}

// Tree is the version's data as maps and lists, by the names of the API, without what is not set; user data is in plain
// text.
func (v *Version) Tree() (map[string]any, error) {
	raw, err := json.Marshal(v.Data)
	if err != nil {
		return nil, fmt.Errorf("reading launch template %s: %w", v.Name, err)
	}
	var tree map[string]any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("reading launch template %s: %w", v.Name, err)
	}
	dropUnset(tree)
	if text, ok := tree["UserData"].(string); ok {
		plain, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, errors.New("reading launch template " + v.Name + ": its user data is not in base64")
		}
		tree["UserData"] = string(plain)
	}
	return tree, nil
}

// dropUnset takes away what only says that it is not set: the API's types have members for everything.
func dropUnset(m map[string]any) {
	for k, v := range m {
		switch v := v.(type) {
		case nil:
			delete(m, k)
		case string:
			if v == "" {
				delete(m, k)
			}
		case map[string]any:
			if dropUnset(v); len(v) == 0 {
				delete(m, k)
			}
		case []any:
			for _, item := range v {
				if below, ok := item.(map[string]any); ok {
					dropUnset(below)
				}
			}
			if len(v) == 0 {
				delete(m, k)
			}
		}
	}
}
