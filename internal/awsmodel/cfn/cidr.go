package cfn

import (
	"fmt"
	"math/big"
	"net/netip"
)

const maxCidrs = 256

// cidr works out Fn::Cidr: the first parts of a block, each with so many bits of host addresses.
func (e *Evaluation) cidr(n *Node, path string) (any, error) {
	args := make([]any, len(n.Items))
	for i, item := range n.Items {
		v, err := e.value(item, path)
		if err != nil {
			return nil, err
		}
		if u, ok := v.(Unknown); ok {
			return Unknown{"${Cidr " + u.Text + "}", u.Why}, nil
		}
		args[i] = v
	}
	text, _ := TextOf(args[0])
	block, err := netip.ParsePrefix(text)
	if err != nil {
		return nil, fail(n, path, "Fn::Cidr: %q is not an address block", text)
	}
	count, ok := IntOf(args[1])
	if !ok || count < 1 || count > maxCidrs {
		return nil, fail(n, path, "Fn::Cidr makes between 1 and %d blocks, not %s", maxCidrs, describe(args[1]))
	}
	bits := 8 // what CloudFormation takes for IPv4 and 64 for IPv6
	if block.Addr().Is6() {
		bits = 64
	}
	if len(args) == 3 {
		if bits, ok = IntOf(args[2]); !ok {
			return nil, fail(n, path, "Fn::Cidr: the bits of each part must be a number, not %s", describe(args[2]))
		}
	}
	parts, err := carve(block.Masked(), count, bits)
	if err != nil {
		return nil, fail(n, path, "Fn::Cidr: %v", err)
	}
	return parts, nil
}

func carve(block netip.Prefix, count, bits int) ([]any, error) {
	length := block.Addr().BitLen() - bits
	if bits < 0 || length < block.Bits() {
		return nil, fmt.Errorf("a part with %d bits of addresses does not fit into %s", bits, block)
	}
	if free := length - block.Bits(); free < 16 && count > 1<<free {
		return nil, fmt.Errorf("%s has room for %d parts with %d bits of addresses, not for %d", block, 1<<free, bits, count)
	}
	out := make([]any, count)
	start := new(big.Int).SetBytes(block.Addr().AsSlice())
	step := new(big.Int).Lsh(big.NewInt(1), uint(bits))
	for i := range out {
		raw := make([]byte, block.Addr().BitLen()/8)
		start.FillBytes(raw)
		addr, _ := netip.AddrFromSlice(raw)
		out[i] = netip.PrefixFrom(addr, length).String()
		start.Add(start, step)
	}
	return out, nil
}
