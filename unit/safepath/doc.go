// Package safepath opens, renames and removes files by their path, also where other
// users can write one of the folders on the way. A process that runs as root must not
// follow a link that another user has put there: that user could make it read, truncate
// or overwrite any file.
//
// A folder is trusted if only root and the caller can change it, and if the same is true
// of the folders on the way to it. In a trusted folder paths work as usual. In any other
// folder:
//
//   - a symbolic link is refused;
//   - a file that has a second hard link is refused;
//   - a file is only written if it belongs to the caller, to root or to the owner of the
//     folder, who could replace it anyway.
//
// A folder with the sticky bit, such as /tmp, is a special case: what belongs to root or
// to the caller cannot be replaced there, so that their links and folders are followed.
//
// Where the caller is not root, its rights limit what a link can do, and the functions
// are those of package os. The package starts no goroutine.
package safepath
