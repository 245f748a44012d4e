package report

import "strings"

// symbols are what amounts of a currency begin with.
var symbols = map[string]string{"": "$", "USD": "$", "CNY": "¥", "EUR": "€"}

// In writes a text whose amounts begin with $ for another currency, by its code: ¥ for CNY and € for EUR, the code and a space for others.
// AWS charges in one currency in a region, so all amounts of a text are of one.
func In(currency, text string) string {
	symbol, known := symbols[currency]
	if !known {
		symbol = currency + " "
	}
	if symbol == "$" {
		return text
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if after != "" && strings.IndexByte("0123456789/ ", after[0]) >= 0 {
			b.WriteString(symbol)
		} else {
			b.WriteByte('$') // of a name or a command
		}
		text = after
	}
}
