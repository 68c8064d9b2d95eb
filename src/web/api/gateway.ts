/** The facts that any visitor may know of this gateway: its address for clients, and its models with their prices, for lines to paste and costs to explain. */

import { Elysia } from 'elysia'
import { clientLinesOf } from '../../docs/client-lines.ts'
import type { World } from '../../world.ts'

export const gatewayRoutes = (world: World) =>
  new Elysia({ name: 'gateway' })
    .get('/cabinet/api/gateway', () => ({
      base_url: world.publicUrl(),
      models: [...world.catalog().models.values()].map(({ id, displayName }) => ({ id, name: displayName })),
    }))
    .get('/cabinet/api/client-lines', () => ({
      data: clientLinesOf({
        baseUrl: world.publicUrl(),
        dashboardUrl: world.dashboardUrl(),
        catalog: world.catalog(),
        limits: world.limits(),
      }),
    }))
