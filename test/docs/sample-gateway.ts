/** A listening gateway as it comes without a configuration, for tests of the guide: the sample models before the simulator. */

import { makeCatalog } from '../../src/config/make-catalog.ts'
import { LIMITS } from '../../src/core/limits.ts'
import { guideOf } from '../../src/docs/guide.ts'
import type { World } from '../../src/world.ts'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../support/gateway.ts'

export const sampleGateway = (options: TestGatewayOptions = {}): Promise<TestGateway> =>
  startTestGateway({
    models: [...makeCatalog({}, []).models.values()].map(({ upstreams: _, ...model }) => model),
    limits: LIMITS,
    ...options,
  })

export const guidePagesOf = (world: World) =>
  guideOf({ baseUrl: world.publicUrl(), dashboardUrl: world.dashboardUrl(), catalog: world.catalog(), limits: world.limits() })

/** Where the pages of the guide are. */
export const guidePaths = (world: World): readonly string[] => guidePagesOf(world).map(({ path }) => path)
