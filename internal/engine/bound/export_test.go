package bound

// Bytes is about what the names take.
func (k *Memory) Bytes() int { return k.vocab.Bytes() }
