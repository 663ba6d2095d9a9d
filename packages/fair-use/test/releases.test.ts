import { releaseConformance } from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'

releaseConformance('fair-use', plugin, new URL('../fixtures/released/', import.meta.url))
