module github.com/fclairamb/afero-gdrive

go 1.26.2

require (
	github.com/fclairamb/go-log v0.4.1
	github.com/spf13/afero v1.9.3
	golang.org/x/oauth2 v0.27.0
)
