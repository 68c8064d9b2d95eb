/** Calls of the C library that Bun does not offer. Linux only: elsewhere there is no such library, and the result is undefined. https://bun.sh/docs/runtime/ffi */

import { dlopen, type FFIFunction } from 'bun:ffi'

const NAMES = ['libc.so.6', `libc.musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`]

export function libc<const Calls extends Record<string, FFIFunction>>(calls: Calls) {
  if (process.platform !== 'linux') return undefined
  for (const name of NAMES) {
    try {
      return dlopen(name, calls).symbols
    } catch {
      // The C library of another system has another name.
    }
  }
  return undefined
}
