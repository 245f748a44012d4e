package world

// Match tells whether s fits a pattern in which * stands for any run of characters and ? for one. It is what EC2 uses in
// filter values and IAM in actions and resources, and what fault patterns are written in.
func Match(pattern, s string) bool {
	var p, i int
	star, mark := -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p++
			i++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
