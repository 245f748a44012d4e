package local

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
)

// InputError is an option, or a file that an option names, that can't be used. Nothing has been started.
type InputError struct{ error }

// Unwrap is the error itself.
func (e *InputError) Unwrap() error { return e.error }

// clusterName is what CloudFormation takes behind "Karpenter-", and EKS for a cluster.
//
// Source: AWS CloudFormation API Reference, CreateStack, StackName; Amazon EKS API Reference, CreateCluster, name.
var clusterName = regexp.MustCompile(`^[0-9A-Za-z][-0-9A-Za-z]{0,99}$`)

// checkInput reads everything that the user gave before anything starts.
func (o *Options) checkInput() error {
	if !clusterName.MatchString(o.ClusterName) {
		return &InputError{fmt.Errorf("cluster name %q: want at most 100 letters, digits and dashes, as it is part of the name of a CloudFormation stack", o.ClusterName)}
	}
	if o.AWSPort != 0 && !free(o.AWSPort) {
		return &InputError{fmt.Errorf("port %d is in use; stop what listens there or choose another --aws-port", o.AWSPort)}
	}
	for _, pair := range o.ControllerEnv {
		if key, _, ok := strings.Cut(pair, "="); !ok || key == "" {
			return &InputError{fmt.Errorf("controller environment %q: want KEY=VALUE", pair)}
		}
	}
	if _, err := parameters(o.StackParameters); err != nil {
		return &InputError{err}
	}
	if o.Stack != "" {
		text, err := readFile(o.Stack)
		if err == nil {
			_, err = cfn.Parse(text)
		}
		if err != nil {
			return &InputError{fmt.Errorf("stack template %s: %w", o.Stack, err)}
		}
	}
	for _, path := range o.Manifests {
		text, err := readFile(path)
		if err == nil {
			err = parses(text)
		}
		if err != nil {
			return &InputError{fmt.Errorf("manifests %s: %w", path, err)}
		}
	}
	return nil
}

// readFile is os.ReadFile, whose errors name the file once more.
func readFile(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, p.Err
	}
	return text, err
}

// parses tells whether manifests are YAML or JSON.
func parses(manifests []byte) error {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 64<<10)
	for n := 1; ; n++ {
		var object map[string]any
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("document %d: %w", n, err)
		}
	}
}
