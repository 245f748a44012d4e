package charts_test

import (
	"net"

	"sigs.k8s.io/yaml"
)

// freePorts are ports of 127.0.0.1 on which nobody listens.
func freePorts(n int) ([]int, error) {
	var out []int
	for range n {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		out = append(out, l.Addr().(*net.TCPAddr).Port)
	}
	return out, nil
}

func parseValues(text []byte) (map[string]any, error) {
	out := map[string]any{}
	return out, yaml.Unmarshal(text, &out)
}
