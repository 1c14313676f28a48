// Package safepath opens, renames and removes files by their path, even if other users can write
// one of the folders on the way. A process that runs as root must not follow a link of another
// user, who could make it read, truncate or overwrite any file.
//
// A folder is trusted if only root and the caller can change it, and if the same is true of its
// parents. In a trusted folder paths work as usual. In any other folder:
//
//   - a symbolic link is refused;
//   - a file that has a second hard link is refused;
//   - a file is only written if it belongs to the caller, to root or to the owner of the folder, who
//     could replace it anyway.
//
// A folder with the sticky bit, such as /tmp, is a special case: files of root and of the caller
// cannot be replaced there, so their links and folders are followed.
//
// If the caller is not root, the caller's own permissions limit what a link can do, and the
// functions are those of package os. The package starts no goroutine.
package safepath
