/** The facts that any visitor may know of this gateway: its address for clients, and its models with their prices, for costs to explain. */

import { Elysia } from 'elysia'
import type { World } from '../../world.ts'

export const gatewayRoutes = (world: World) =>
  new Elysia({ name: 'gateway' }).get('/cabinet/api/gateway', () => ({
    base_url: world.publicUrl(),
    models: [...world.catalog().models.values()].map(({ id, displayName }) => ({ id, name: displayName })),
  }))
