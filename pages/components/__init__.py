"""Custom components, one folder each: ES modules, styles, and the Python that sends their data.

What notebooks show, too, is in headlight/components: the kit that all share, the overview and the lines.

They write what a person typed with `textContent` only, or onto a canvas, and take their colors from the theme. Most
are as high as the style sheet's `--hl-stage`, so that nothing jumps while they load.
"""
