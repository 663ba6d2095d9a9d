module github.com/fclairamb/afero-dropbox

go 1.26.2

require github.com/spf13/afero v1.9.3
