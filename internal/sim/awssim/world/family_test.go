package world

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// families are the services, by the beginning of their files' names, with the field of World that is theirs.
var families = map[string]string{
	"arc": "", "cloudwatch": "cloudwatch", "ec2": "ec2", "eks": "eks", "events": "bus", "iam": "iam", "kms": "kms", "sqs": "sqs", "ssm": "ssm", "sts": "",
}

// shared are the files that serve all services.
var shared = []string{"calls", "clock", "default", "faultparse", "faults", "match", "property", "family", "token", "world"}

// readers are the families whose files reach into the state of another, and why.
var readers = map[string]string{
	"arc ec2":        "a shift is away from a zone",
	"arc eks":        "a shift is of a cluster",
	"cloudwatch sqs": "queues report how full they are",
	"ec2 iam":        "an instance gets a profile",
	"eks iam":        "an access entry names a role",
	"events sqs":     "events are delivered to queues",
	"sts eks":        "a role may trust the issuer of a cluster's tokens",
	"ssm ec2":        "parameters of AWS name images",
	"sts iam":        "who calls is a user or a role",
}

// TestEachServiceHasItsFilesAndItsState reads the code: a file belongs to a service by its name, or serves all; and a service
// reaches into the state of another only where that is said.
func TestEachServiceHasItsFilesAndItsState(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		base := strings.TrimSuffix(strings.TrimSuffix(e.Name(), ".go"), "_test")
		family, _, _ := strings.Cut(base, "_")
		if _, ok := families[family]; !ok {
			if !slices.Contains(shared, family) {
				t.Errorf("%s: its name begins with no service; name it so, or list it in shared", e.Name())
			}
			continue
		}
		if strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, e.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := s.X.(*ast.Ident); !ok || x.Name != "w" {
				return true
			}
			for other, field := range families {
				if field == "" || field != s.Sel.Name || other == family {
					continue
				}
				used[family+" "+other] = true
				if readers[family+" "+other] == "" {
					t.Errorf("%s: %s reaches into the state of %s: ask a method of its files, or say why in readers", fset.Position(n.Pos()), family, other)
				}
			}
			return true
		})
	}
	for pair, why := range readers {
		if !used[pair] {
			t.Errorf("%s (%s): that is not so any more", pair, why)
		}
	}
}
