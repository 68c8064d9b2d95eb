/** Preloaded into a gateway: on SIGUSR2 it has two bugs that nobody catches, and both quote a secret. */

process.on('SIGUSR2', () => {
  setTimeout(() => {
    throw new Error('sk-quoted-by-a-bug')
  })
  void Promise.reject(new Error('sk-quoted-by-a-bug'))
})
