package base

// ShareInOne makes all writes of a shared operation wait in one group, and returns a function that counts them.
func (db *DB) ShareInOne(operation SharedOperation) (waiting func() int) {
	db.sharing.Lock()
	defer db.sharing.Unlock()
	shared := db.database.Share(operation.Name, 1)
	db.shared[operation] = shared
	return shared.Waiting
}
