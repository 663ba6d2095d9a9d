import { releaseConformance } from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'

releaseConformance('compliance', plugin, new URL('../fixtures/released/', import.meta.url))
