// Reads texts by name as JSON, and writes the archive that the page makes of them.

import { readFileSync, writeSync } from "node:fs";

import { zip } from "../../src/spanloom/serve/site/zip.js";

writeSync(1, zip(JSON.parse(readFileSync(0, "utf8"))));
