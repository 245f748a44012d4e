// Package sourcetest reads the code of the loops, for tests that hold rules which the compiler can't: who writes a condition, who
// ends an instance, where an event's reason comes from.
package sourcetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// few is how many files a folder of loops has at least: with fewer the wrong folder is read, and a rule holds for nothing.
const few = 10

// Read calls see for every node of the code in folders, tests left out, with where it is and the name of its package.
func Read(t testing.TB, see func(at func(ast.Node) token.Position, pkg string, n ast.Node), folders ...string) {
	t.Helper()
	for _, folder := range folders {
		files := 0
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files++
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			at := func(n ast.Node) token.Position { return set.Position(n.Pos()) }
			ast.Inspect(file, func(n ast.Node) bool { see(at, file.Name.Name, n); return true })
			return nil
		})
		if err != nil || files < few {
			t.Fatalf("read %d files of %s: %v", files, folder, err)
		}
	}
}

// File is the name of a file that Read has read in "..", as in disrupt/carry.go.
func File(at token.Position) string {
	return filepath.ToSlash(strings.TrimPrefix(filepath.Clean(at.Filename), ".."+string(filepath.Separator)))
}
